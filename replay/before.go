package replay

import (
	"strings"

	"routelimit/accesslog"
)

// before are the response code details of answers that come before routelimit's: of
// Envoy itself, which looks at a request before its filters do, and of the filters
// that say who is calling, which belong before it. Envoy's documentation, "Response
// Code Details"; those of the filters stand in their source. All else plays: what the
// router, the upstream or a codec says may come after routelimit has counted.
var before = map[string]bool{
	"absolute_path_rejected":    true,
	"low_version":               true,
	"missing_host_header":       true,
	"missing_path_rejected":     true,
	"path_normalization_failed": true,

	"jwt_authn_access_denied":           true, // jwt_authn_access_denied{Jwt_is_expired}
	"ext_authz_denied":                  true,
	"ext_authz_error":                   true,
	"rbac_access_denied_matched_policy": true, // rbac_access_denied_matched_policy[none]
	"csrf_origin_mismatch":              true,
	"no_credential_for_basic_auth":      true,
	"invalid_scheme_for_basic_auth":     true,
	"invalid_format_for_basic_auth":     true,
	"invalid_credential_for_basic_auth": true,
	"missing_api_key":                   true,
}

// AnsweredBefore says by what a request was answered before routelimit saw it, such
// as "jwt_authn_access_denied"; "" if by nothing, or if the log does not say.
func AnsweredBefore(e *accesslog.Entry) string {
	name := e.Details
	if end := strings.IndexAny(name, "{["); end >= 0 {
		name = name[:end]
	}
	if !before[name] {
		return ""
	}
	return name
}
