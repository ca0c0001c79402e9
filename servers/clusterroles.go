package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Primaries are the nodes that run and take themselves for primaries, in the order of Nodes.
func (c *Cluster) Primaries(ctx context.Context) ([]*Redis, error) {
	var list []*Redis
	for _, node := range c.Nodes {
		select {
		case <-node.Done():
			continue
		default:
		}
		role, err := node.client.Do(ctx, "ROLE").Slice()
		if err != nil {
			return nil, err
		}
		if role[0] == "master" {
			list = append(list, node)
		}
	}
	return list, nil
}

// WaitAgreed returns once all primaries have the same view of who serves what since when. Where a slot is moved before, a
// message that is still on its way can take it back, and then two nodes send everybody to each other for ever.
func (c *Cluster) WaitAgreed(ctx context.Context) error {
	ctx, cancel := within(ctx, clusterStartTime)
	defer cancel()
	if err := poll(ctx, nil, c.agreed); err != nil {
		return fmt.Errorf("the cluster does not agree on who serves what: %w; give the machine more time", err)
	}
	return nil
}

func (c *Cluster) agreed(ctx context.Context) error {
	primaries, err := c.Primaries(ctx)
	if err != nil {
		return err
	}
	var first string
	for i, node := range primaries {
		text, err := node.client.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		view := slotsIn(text)
		if i == 0 {
			first = view
		}
		if view != first {
			return fmt.Errorf("%s sees\n%s\nand %s\n%s", primaries[0].addr, first, node.addr, view)
		}
	}
	return nil
}

// slotsIn is what CLUSTER NODES says of the primaries' slots, without those that are on the move.
func slotsIn(text string) string {
	var views []string
	for line := range strings.Lines(text) {
		// id addr flags primary ping pong epoch link slots…
		if fields := strings.Fields(line); fields[3] == "-" {
			slots := slices.DeleteFunc(fields[8:], func(s string) bool { return strings.HasPrefix(s, "[") })
			views = append(views, fields[0]+" since "+fields[6]+": "+strings.Join(slots, ","))
		}
	}
	slices.Sort(views)
	return strings.Join(views, "\n")
}

// Rejoin starts a node again that has died and was succeeded, and returns when it follows its successor. Before that it
// takes itself for a primary.
func (c *Cluster) Rejoin(ctx context.Context, node *Redis) error {
	if err := node.Restart(ctx); err != nil {
		return err
	}
	ctx, cancel := within(ctx, clusterStartTime)
	defer cancel()
	err := poll(ctx, nil, func(ctx context.Context) error {
		role, err := node.client.Do(ctx, "ROLE").Slice()
		if err == nil && (role[0] != "slave" || role[3] != "connected") {
			err = fmt.Errorf("its role is %v", role)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s does not follow its successor: %w; check that it had one", node.addr, err)
	}
	return nil
}
