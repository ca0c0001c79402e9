package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const pluginYAML = `
x:
- name: routelimit
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm
    config:
      name: routelimit
      configuration:
        "@type": type.googleapis.com/google.protobuf.StringValue
        value: %s
`

func TestPoliciesKnowTheirPlaceInTheFile(t *testing.T) {
	block := "|\n          {\n            \"routes\": {}\n          }"
	for name, tt := range map[string]struct {
		value, text  string
		line, column int // of the text's line 2, column 3
		exact        bool
	}{
		"block":               {block, "{\n  \"routes\": {}\n}\n", 12, 13, true},
		"block, stripped":     {strings.Replace(block, "|", "|-", 1), "{\n  \"routes\": {}\n}", 12, 13, true},
		"block with a remark": {strings.Replace(block, "|", "| # policy", 1), "{\n  \"routes\": {}\n}\n", 12, 13, true},
		"indent given":        {strings.Replace(block, "|", "|2", 1), "{\n  \"routes\": {}\n}\n", 12, 13, true},
		"quoted":              {`'{"routes": {}}'`, `{"routes": {}}`, 10, 1, false},
		"folded":              {strings.Replace(block, "|", ">", 1), "{\n  \"routes\": {}\n}\n", 10, 1, false},
		"a Struct":            {"{routes: {}}", `{"routes":{}}`, 10, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Policies(fmt.Appendf(nil, pluginYAML, tt.value))
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			line, column, exact := got[0].Place(2, 3)
			if got[0].Text != tt.text || line != tt.line || column != tt.column || exact != tt.exact {
				t.Errorf("text %q at %d:%d, exact %v; want %q at %d:%d, %v",
					got[0].Text, line, column, exact, tt.text, tt.line, tt.column, tt.exact)
			}
		})
	}
}

func TestPoliciesLeaveOthersOut(t *testing.T) {
	for name, file := range map[string]string{
		"another wasm filter": strings.ReplaceAll(fmt.Sprintf(pluginYAML, `"{}"`), "routelimit", "coraza"),
		"another filter":      strings.Replace(fmt.Sprintf(pluginYAML, `"{}"`), "http.wasm.v3.Wasm", "http.lua.v3.Lua", 1),
		"the gateway":         fmt.Sprintf(pluginYAML, `'{"role": "gateway"}'`),
		"nothing":             "",
		"a text":              "hello",
	} {
		if got, err := Policies([]byte(file)); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestPoliciesOfSeveralDocuments(t *testing.T) {
	one := fmt.Sprintf(pluginYAML, `'{"mode": "off"}'`)
	got, err := Policies([]byte(one + "---\n" + one))
	if err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPoliciesOfBrokenYAMLNameTheLine(t *testing.T) {
	_, err := Policies([]byte("a: 1\nb: [\n"))
	var broken *SyntaxError
	if !errors.As(err, &broken) || broken.Line != 2 || strings.Contains(err.Error(), "\n") {
		t.Errorf("error = %v", err)
	}
}

func TestPoliciesReadAPluginWhoseVMIsAnAlias(t *testing.T) {
	file := "vm: &vm {vm_id: v}\n" + strings.Replace(fmt.Sprintf(pluginYAML, `'{"mode": "off"}'`),
		"name: routelimit\n      conf", "name: routelimit\n      vm_config: *vm\n      conf", 1)
	got, err := Policies([]byte(file))
	if err != nil || len(got) != 1 || !strings.Contains(file, "*vm") {
		t.Errorf("%v, %v", got, err)
	}
}
