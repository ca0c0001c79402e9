package render

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/types/known/emptypb"
)

const jwtFilter = "envoy.filters.http.jwt_authn"

// keyOfNobody verifies no token: its x is the sentence "no one has this key's other half", so nobody can know the
// private half.
const keyOfNobody = `{"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256",
           "x": "bm8gb25lIGhhcyB0aGlzIGtleSdzIG90aGVyIGhhbGY",
           "y": "VhuawasqwxF22onEiOTdQLTpUr4EQQ8TlcCHOiERK6Y"}]}
`

// authentication verifies tokens and hands their claims to the module, under the key where the policy reads them. A request
// without a token goes on; one with a bad token gets 401.
func (p *parsed) authentication(payload string) *jwtv3.JwtAuthentication {
	const provider = "issuer"
	either := &jwtv3.JwtRequirementOrList{Requirements: []*jwtv3.JwtRequirement{
		{RequiresType: &jwtv3.JwtRequirement_ProviderName{ProviderName: provider}},
		{RequiresType: &jwtv3.JwtRequirement_AllowMissing{AllowMissing: &emptypb.Empty{}}},
	}}
	return &jwtv3.JwtAuthentication{
		Providers: map[string]*jwtv3.JwtProvider{provider: {
			Issuer:            p.Tokens.Issuer,
			PayloadInMetadata: payload,
			Forward:           true, // the upstream gets the token as well
			JwksSourceSpecifier: &jwtv3.JwtProvider_LocalJwks{LocalJwks: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: p.Tokens.KeySet},
			}},
		}},
		Rules: []*jwtv3.RequirementRule{{
			Match: prefix("/"),
			RequirementType: &jwtv3.RequirementRule_Requires{Requires: &jwtv3.JwtRequirement{
				RequiresType: &jwtv3.JwtRequirement_RequiresAny{RequiresAny: either},
			}},
		}},
	}
}

func prefix(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: path}}
}
