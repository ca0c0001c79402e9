package policy

import (
	"routelimit/answer"
	"routelimit/policy/strictjson"
)

func readDialect(n *strictjson.Node, style *answer.Style) {
	name, ok := n.Text()
	if !ok {
		return
	}
	dialect, err := answer.ParseDialect(name)
	if err != nil {
		n.Fail("%v", err)
	}
	style.Dialect = dialect
}

// responseDraft is a response section, with what is checked across its fields.
type responseDraft struct {
	style                     *answer.Style
	format, body, contentType *strictjson.Node
}

var responseFields = []strictjson.Field[responseDraft]{
	{Name: "status", Read: func(d *responseDraft, n *strictjson.Node) {
		status, ok := n.Whole(0, 999)
		if err := answer.CheckStatus(status); ok && err != nil {
			n.Fail("%v", err)
		}
		d.style.Status = uint32(status)
	}},
	{Name: "format", Read: func(d *responseDraft, n *strictjson.Node) {
		d.format = n
		name, ok := n.Text()
		if !ok {
			return
		}
		format, err := answer.ParseFormat(name)
		if err != nil {
			n.Fail("%v", err)
		}
		d.style.Format = format
	}},
	{Name: "body", Read: func(d *responseDraft, n *strictjson.Node) { d.body = n; d.style.Body, _ = n.Text() }},
	{Name: "content_type", Read: func(d *responseDraft, n *strictjson.Node) { d.contentType = n; d.style.ContentType, _ = n.Text() }},
	{Name: "headers", Read: func(d *responseDraft, n *strictjson.Node) { readHeaders(n, d.style) }},
}

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
	seen := map[string]bool{}
	for _, header := range n.Members(`{"x-limited-by": "edge"}`) {
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
