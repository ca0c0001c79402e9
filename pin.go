//go:build pin

package pin

import (
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/spf13/cobra"
	_ "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	_ "github.com/tetratelabs/wazero"
	_ "github.com/tidwall/gjson"
	_ "golang.org/x/text/unicode/norm"
	_ "golang.org/x/text/cases"
	_ "google.golang.org/protobuf/encoding/protowire"
	_ "pgregory.net/rapid"
	_ "github.com/dunglas/httpsfv"
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/alicebob/miniredis/v2"
)
