import Testing

@testable import Postgres

/// What passes by itself is tried again; everything else is an answer, at which a deletion stops and waits for somebody.
@Suite struct SQLStateTests {
    @Test(arguments: [
        // Serialization, deadlock, lock, shutdown, crash, start, silence, and a standby that a fail-over left us with.
        "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57P05", "25P03", "25006",
        // Classes: the connection, the server's resources.
        "08000", "08006", "53000", "53100", "53200", "53300",
    ])
    func passesByItself(_ state: String) {
        #expect(SQLState(rawValue: state).isTransient)
    }

    @Test(arguments: [
        "23502", "23503", "23505", "23514", "25P02", "42501", "42P01", "55000", "57014", "P0001", "0A000", "22P02",
        "XX000",
    ])
    func isAnAnswer(_ state: String) {
        #expect(!SQLState(rawValue: state).isTransient)
    }
}
