package policy

import (
	"routelimit/answer"
	"routelimit/policy/strictjson"
)

// responseDraft is a response section, with what is checked across its fields.
type responseDraft struct {
	style                     *answer.Style
	format, body, contentType *strictjson.Node
}

var responseFields = []strictjson.Field[responseDraft]{
	{
		Name: "status",
		Read: func(d *responseDraft, n *strictjson.Node) {
			status, _ := n.Whole(answer.LeastStatus, answer.MostStatus)
			d.style.Status = uint32(status)
		},
		Doc:     prose("the HTTP status of a refusal; gRPC callers get grpc-status 8 all the same"),
		Default: prose(`429`), Example: prose(`503`),
	},
	{
		Name: "format",
		Read: func(d *responseDraft, n *strictjson.Node) {
			d.format = n
			format, _ := n.OneOf(answer.FormatNames()...)
			d.style.Format = answer.Format(format)
		},
		Doc: prose("the body of a refusal: `json` is `{\"error\":\"rate_limited\",\"retryAfterSec\":N}`, `problem` is RFC 9457, " +
			"`custom` what `body` says, and the default beside one"),
		Default: prose(`"json"`), Example: prose(`"problem"`),
	},
	{
		Name: "body", Read: func(d *responseDraft, n *strictjson.Node) { d.body = n; d.style.Body, _ = n.Text() },
		Doc:     prose("a body of your own, of at most 16 KiB"),
		Example: prose(`"slow down\n"`),
	},
	{
		Name: "content_type",
		Read: func(d *responseDraft, n *strictjson.Node) {
			d.contentType = n
			n.StatePattern(prose(headerValue))
			d.style.ContentType, _ = n.Text()
		},
		Doc:     prose("of `body`"),
		Default: prose(`"text/plain; charset=utf-8"`), Example: prose(`"text/html"`),
	},
	{
		Name: "headers", Read: func(d *responseDraft, n *strictjson.Node) { readHeaders(n, d.style) },
		Doc: prose("headers that every refusal carries, every 503 of a route that is closed while Redis does not answer, and every 404 of an undeclared route. " +
			"Those of HTTP framing, `retry-after` and gRPC's cannot be among them; one that names `cache-control` or a quota header takes its place"),
		Example: prose(`{"x-limited-by": "edge"}`),
	},
}

// Regular expressions of what answer.CheckHeader takes.
const (
	headerName  = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,}$"
	headerValue = `^([^\x00-\x20\x7f]([^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?$`
)

func readResponse(n *strictjson.Node, style *answer.Style) {
	d := responseDraft{style: style}
	if !strictjson.ReadObject(n, &d, responseFields) {
		return
	}
	if d.body != nil && d.format == nil {
		style.Format = answer.Custom
	}
	switch custom := style.Format == answer.Custom; {
	case custom && d.body == nil:
		d.format.Fail(`a custom format needs a body; write "body": "…"`)
	case !custom && d.body != nil:
		d.body.FailName(`a body of your own needs the format "custom"; write it, or remove the body`)
	case !custom && d.contentType != nil:
		d.contentType.FailName(`a content type belongs to a body of your own; write "body": "…", or remove it`)
	case custom:
		d.checkBody()
	}
}

func (d *responseDraft) checkBody() {
	if err := answer.CheckBody(d.style.Body, ""); err != nil {
		d.body.Fail("%v", err)
	}
	if err := answer.CheckBody("", d.style.ContentType); err != nil {
		d.contentType.Fail("%v", err)
	}
}

func readHeaders(n *strictjson.Node, style *answer.Style) {
	n.State(func(f *strictjson.Facts) {
		f.Names = prose(headerName)
		f.NotNames = answer.ReservedHeaders()
	})
	seen := map[string]bool{}
	for _, header := range n.Members(`{"x-limited-by": "edge"}`) {
		header.StatePattern(prose(headerValue))
		value, ok := header.Text()
		if !ok {
			continue
		}
		name, err := answer.CheckHeader(header.Name(), value)
		switch {
		case err != nil:
			header.FailName("%v", err)
		case seen[name]:
			header.FailName("the header occurs twice, in another letter case; keep one")
		}
		seen[name] = true
		style.Headers = append(style.Headers, [2]string{name, value})
	}
}
