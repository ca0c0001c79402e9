package explain

import "routelimit/policy"

func describeRoute(p *policy.Policy, carried, route *policy.Route, matching []policy.Candidate) *Route {
	if route == nil {
		return nil
	}
	described := &Route{Key: route.Key, Template: route.Template, From: "routes", OnError: route.OnError.String(), Beaten: []Loss{}}
	switch {
	case carried != nil:
		described.From = "metadata of an Envoy route"
	case route == p.Default:
		described.From = "default"
	}
	for _, c := range matching {
		switch {
		case c.Route == route:
		case carried != nil:
			described.Beaten = append(described.Beaten, Loss{c.Route.Template, "what an Envoy route carries goes before routes"})
		default:
			described.Beaten = append(described.Beaten, Loss{c.Route.Template, c.Reason})
		}
	}
	return described
}
