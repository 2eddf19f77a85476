package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/larder-cache/larder/internal/config"
)

// auditPatience is how long an audit may take: some seconds for a hundred million records.
const auditPatience = 10 * time.Minute

// errUnhealthy makes the exit code of an audit that found something.
var errUnhealthy = errors.New("the audit found faults")

func newAudit() *cobra.Command {
	return withSettings(&cobra.Command{
		Use:   "audit",
		Short: "Let a running server compare all memory in use with what records and indexes name",
		Long: "Audit asks the server at --listen, with --requirepass if it has a password, to audit its memory beside its other\n" +
			"work. It prints what was found and exits with 0 when all is well and with 1 when not.",
	}, audit)
}

func audit(cmd *cobra.Command, c *config.Config) error {
	client := dial(c)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), auditPatience)
	defer cancel()
	reply, err := client.Do(ctx, "LARDER", "AUDIT").Result()
	if err != nil {
		return &failure{fmt.Errorf("%s: %w", c.Listen, err)}
	}
	fields, ok := reply.(map[any]any)
	if !ok {
		return &failure{fmt.Errorf("%s: not the reply of an audit: %v", c.Listen, reply)}
	}
	printAudit(cmd.OutOrStdout(), fields)
	if fields["healthy"] != "yes" {
		return &failure{errUnhealthy}
	}
	return nil
}

// dial makes a client for the server that these settings start. It connects with its first command.
func dial(c *config.Config) *redis.Client {
	redis.SetLogger(silent{}) // what goes wrong is in the errors
	o := &redis.Options{
		Network: "tcp", Addr: c.Listen, Password: string(c.RequirePass), Protocol: 3, MaxRetries: -1, ReadTimeout: auditPatience,
		DialerRetries: 1, DisableIdentity: true,
	}
	if path, socket := strings.CutPrefix(c.Listen, config.SocketPrefix); socket {
		o.Network, o.Addr = "unix", path
	}
	return redis.NewClient(o)
}

type silent struct{}

// Printf drops a line of the client's log.
func (silent) Printf(context.Context, string, ...any) {}

// printAudit writes one line for each figure and each fault.
func printAudit(w io.Writer, fields map[any]any) {
	for _, name := range []string{"healthy", "collections", "records", "cells", "lost-cells", "lost-bytes", "busy-lanes", "milliseconds"} {
		_, _ = fmt.Fprintf(w, "%-12s %v\n", name, fields[name])
	}
	if faults, ok := fields["faults"].([]any); ok {
		for _, f := range faults {
			_, _ = fmt.Fprintf(w, "fault        %v\n", f)
		}
	}
}
