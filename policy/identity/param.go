package identity

import "errors"

// paramSource reads a parameter of the matched route.
type paramSource struct{ name string }

func parseParamSource(argument string) (reader, error) {
	if argument == "" {
		return nil, errors.New(`no parameter is named; write "path:id" for ":id" in the route`)
	}
	return &paramSource{argument}, nil
}

func (s *paramSource) read(dst []byte, r *Request) ([]byte, found) {
	for _, p := range r.Params {
		if p.Name == s.name {
			return append(dst, p.Value...), text
		}
	}
	return dst, missing
}
