package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push sends the compat variant to a reference such as registry.example/team/routelimit:1.0, and the other one to the same
// with -oci behind. Credentials are those of docker login. It returns what can be fetched now, by digest.
func Push(ctx context.Context, reference string, variants []Variant) ([]string, error) {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return nil, fmt.Errorf("%q is no name with a tag: %w; write one such as registry.example/routelimit:1.0", reference, err)
	}
	var pushed []string
	for _, v := range variants {
		to := tag
		if v.Name != "compat" {
			to = tag.Context().Tag(tag.TagStr() + "-" + v.Name)
		}
		if err := remote.Write(to, v.Image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return pushed, fmt.Errorf("%s cannot be pushed: %w; is the registry there, and are you logged in (docker login)?", to, err)
		}
		digest, err := v.Image.Digest()
		if err != nil {
			return pushed, err
		}
		pushed = append(pushed, to.String()+"@"+digest.String())
	}
	return pushed, nil
}
