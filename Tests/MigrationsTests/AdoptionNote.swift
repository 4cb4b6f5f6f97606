import Migrations
import Postgres

/// What the migrations did with one existing object: a row of `accountctl.adoption_notes`.
struct AdoptionNote: Sendable {
    /// The name of the plan's item that the note is about.
    let item: String

    /// The database object that was created, replaced or left alone.
    let object: String

    /// `created`, `replaced`, `kept` or `left_off`.
    let decision: String

    /// Why the object was kept or left off.
    let reason: String?

    /// Returns every note, in the order in which they were made.
    static func all(on connection: isolated Connection) throws -> [AdoptionNote] {
        try connection.query(
            """
            select item, object, decision, reason
            from accountctl.adoption_notes
            order by noted_at, item
            """,
            into: AdoptionNote.init
        )
    }
}

extension AdoptionDecision {
    /// The decision that the notes record after the migrations for this decision of the plan.
    var outcome: String? {
        switch self {
        case .create: "created"
        case .replace: "replaced"
        case .keep: "kept"
        case .leaveOff: "left_off"
        case .refuse: nil
        }
    }
}
