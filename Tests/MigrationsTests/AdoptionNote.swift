import Migrations
import Postgres

/// What the migrations did with one thing they met: a row of `accountctl.adoption_notes`.
struct AdoptionNote: Sendable {
    /// What it is about; the name of an item of the plan.
    let item: String

    /// The database object that was made, replaced or left.
    let object: String

    /// `created`, `replaced`, `kept` or `left_off`.
    let decision: String

    /// Why it was kept or left off.
    let reason: String?

    /// Every note, in the order in which they were made.
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
    /// The word that the notes have for it afterwards.
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
