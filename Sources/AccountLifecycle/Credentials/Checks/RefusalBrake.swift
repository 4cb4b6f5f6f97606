import Postgres

/// Keeps mass refusals from being believed, even if each of them is proven.
///
/// The consequences of a refusal cannot be undone: sessions end, and the token that a revocation needs is deleted.
/// People leave one by one; if many are refused at once, something is wrong with the client id for some of them, on our
/// side or Apple's.
struct RefusalBrake: Sendable {
    /// Up to this many refusals in one round are never a mass.
    static let fewInARound = 4
    /// The share of a round's answers above which refusals are a mass.
    static let shareOfARound = 0.1
    /// Up to this many people of one client id may be found gone within a day, however few credentials it has.
    static let fewADay = 20
    /// The share of the held credentials above which those found gone within a day are a mass.
    static let shareOfADay = 0.05
    /// The count of held credentials stops here; a larger client id gets no larger daily limit.
    static let countedAtMost = 100_000

    /// Refusals in this round.
    var refused: Int
    /// Refusals and confirmations in this round.
    var answered: Int
    /// People found gone within the last day.
    var goneToday: Int
    /// Credentials of the client id.
    var held: Int

    /// Whether the refusals are a mass, in this round or within the day.
    var holds: Bool {
        if refused > Self.fewInARound, Double(refused) > Self.shareOfARound * Double(answered) { return true }
        let day = max(Self.fewADay, Int(Self.shareOfADay * Double(held)))
        return goneToday + refused > day
    }

    /// Reads the counts from the database.
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
