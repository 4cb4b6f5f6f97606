import Testing

@testable import Postgres

/// Errors that pass by themselves are retried; every other error is final: a deletion stops there and waits for
/// somebody.
@Suite struct SQLStateTests {
    @Test(arguments: [
        // Serialization failure, deadlock, lock timeout, shutdown, crash, start-up, idle timeouts, and a standby after
        // a failover.
        "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57P05", "25P03", "25006",
        // Whole classes: the connection (08), the server's resources (53).
        "08000", "08006", "53000", "53100", "53200", "53300",
    ])
    func passesByItself(_ state: String) {
        #expect(SQLState(rawValue: state).isTransient)
    }

    @Test(arguments: [
        "23001", "23502", "23503", "23505", "23514", "25P02", "42501", "42P01", "55000", "57014", "P0001", "0A000",
        "22P02", "XX000",
    ])
    func isAnAnswer(_ state: String) {
        #expect(!SQLState(rawValue: state).isTransient)
    }
}
