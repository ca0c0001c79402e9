package release

import (
	"bytes"
	"slices"

	"github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials is a CycloneDX document: the program and the module, and which modules are in each. It has no time and no
// serial number, so that the same release has the same one.
func billOfMaterials(version string, program, wasm []module) ([]byte, error) {
	own := func(kind cyclonedx.ComponentType, name string) cyclonedx.Component {
		return cyclonedx.Component{
			BOMRef: name, Type: kind, Name: name, Version: version,
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		}
	}
	release := own(cyclonedx.ComponentTypeApplication, "routelimit release")
	components := []cyclonedx.Component{own(cyclonedx.ComponentTypeApplication, "routelimit"), own(cyclonedx.ComponentTypeLibrary, moduleFile)}
	for _, m := range union(program, wasm) {
		components = append(components, cyclonedx.Component{
			BOMRef: m.purl(), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: m.purl(),
		})
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &release}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{
		{Ref: release.BOMRef, Dependencies: &[]string{"routelimit", moduleFile}},
		{Ref: "routelimit", Dependencies: refs(program, moduleFile)}, // the program holds the module
		{Ref: moduleFile, Dependencies: refs(wasm)},
	}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// purl names a module for databases of vulnerabilities.
func (m module) purl() string { return "pkg:golang/" + m.Path + "@" + m.Version }

func refs(modules []module, more ...string) *[]string {
	list := more
	for _, m := range modules {
		list = append(list, m.purl())
	}
	slices.Sort(list)
	return &list
}
