package main

import (
	"fmt"
	"slices"

	"routelimit/bench/figure"
	"routelimit/policy"
)

// chooseColumns takes those that are asked for, in the order of allColumns; by default all that can be measured.
func (s *settings) chooseColumns(text string) error {
	asked, err := figure.Names("columns", text, keys(allColumns())...)
	if err != nil {
		return err
	}
	for _, c := range allColumns() {
		if len(asked) > 0 && !slices.Contains(asked, c.key) {
			continue
		}
		switch problem := c.problem(*s); {
		case problem == nil:
			s.Columns = append(s.Columns, c.key)
		case len(asked) > 0:
			return fmt.Errorf("-columns %s: %s %w", text, c.key, problem)
		default:
			s.left = append(s.left, fmt.Sprintf("%s %v", c.key, problem))
		}
	}
	return nil
}

// problem is why a column cannot be measured; nil if it can.
func (c *column) problem(s settings) error {
	if c.service != nil && s.service == "" {
		return fmt.Errorf("needs its binary; set RATELIMIT_BIN= to its path")
	}
	if !c.takes(s.Loads[0]) {
		return fmt.Errorf("is measured with one caller alone; let -identities begin with hot")
	}
	if c.policy == nil {
		return nil
	}
	if _, err := policy.Parse([]byte(c.policy(s.Headers)), func(string) (string, bool) { return "", false }); err != nil {
		return fmt.Errorf("has a policy that this version refuses: %w", err)
	}
	return nil
}
