// Telemetry: filled by its first commit.
