import Postgres

/// Keeps refusals that come in a mass from being believed, whatever proves them one by one.
///
/// What follows from a refusal cannot be taken back: sessions end, and the token that a revocation needs is forgotten.
/// People leave one by one; where many are refused at once something is wrong with the client id for some of them, on
/// our side or Apple's.
struct RefusalBrake: Sendable {
    /// Up to this many refusals among the answers of one round are no mass.
    static let fewInARound = 4
    /// The share of a round's answers above which refusals are a mass.
    static let shareOfARound = 0.1
    /// Up to this many people of one client id may be gone within a day, however few it has.
    static let fewADay = 20
    /// The share of the credentials held above which those gone within a day are a mass.
    static let shareOfADay = 0.05
    /// Held credentials are counted up to here: of more people than this, no larger number may go in a day.
    static let countedAtMost = 100_000

    /// Refusals in this round.
    var refused: Int
    /// Refusals and live credentials in this round.
    var answered: Int
    /// People found gone within the last day.
    var goneToday: Int
    /// Credentials of the client id.
    var held: Int

    /// Whether the refusals of the round are a mass.
    var holds: Bool {
        if refused > Self.fewInARound, Double(refused) > Self.shareOfARound * Double(answered) { return true }
        let day = max(Self.fewADay, Int(Self.shareOfADay * Double(held)))
        return goneToday + refused > day
    }

    /// Counts what the database knows.
    static func read(
        _ clientID: String,
        refused: Int,
        answered: Int,
        on connection: isolated Connection
    ) throws -> RefusalBrake {
        let (gone, held) = try connection.one(
            """
            select
                (
                    select count(*)
                    from accountctl.credential_events
                    where source = 'check'
                      and client_id = \(clientID)
                      and received_at > now() - interval '1 day'
                ),
                (
                    select count(*)
                    from (
                        select
                        from accountctl.apple_credentials
                        where client_id = \(clientID)
                        limit \(countedAtMost)
                    ) as counted
                )
            """,
            as: (Int, Int).self
        )
        return RefusalBrake(refused: refused, answered: answered, goneToday: gone, held: held)
    }
}
