package replay

import (
	"testing"

	"routelimit/accesslog"
)

func TestOnlyAnswersThatCameBeforeAreLeftOut(t *testing.T) {
	for details, want := range map[string]string{
		"jwt_authn_access_denied{Jwt_is_expired}": "jwt_authn_access_denied",
		"ext_authz_denied":                        "ext_authz_denied",
		"rbac_access_denied_matched_policy[none]": "rbac_access_denied_matched_policy",
		"path_normalization_failed":               "path_normalization_failed",
		"":                                        "",
		"via_upstream":                            "",
		"direct_response":                         "",
		"routelimit_refused{pair}":                "",
		"routelimit_local_refused{pair}":          "",
		"routelimit_unavailable{timeout}":         "",
		"routelimit_undeclared":                   "",
		"http1.codec_error":                       "",
		"ext_authz_denied_by_somebody_else":       "",
	} {
		if got := AnsweredBefore(&accesslog.Entry{Details: details}); got != want {
			t.Errorf("%q: %q, want %q", details, got, want)
		}
	}
}
