package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The acts that make a database restored from a backup agree with the list of erasures.
package struct ErasureReplay: Sendable {
    /// An act on one account.
    package enum Act: String, Sendable, CaseIterable {
        /// The account was erased, and is back: its deletion is requested again, without grace.
        case erase
        /// The account's request was open, and is lost: it is opened again as it was.
        case reopen
        /// The account's request was cancelled, and is open again.
        case cancel
        /// The account's request was paused, or on legal hold, and nothing stops it any more.
        case pause
    }

    /// One act.
    package struct Step: Sendable, Hashable {
        package let act: Act
        package let user: UUID
        /// The entry in the list.
        package let listed: ListedErasure
    }

    /// How many accounts were compared.
    package private(set) var accounts = 0
    package private(set) var steps: [Step] = []
    /// Accounts of the list whose request is open here.
    package private(set) var open = 0
    /// Accounts among the ``open`` ones that had been erased, but whose request a pause or a legal hold stops here.
    package private(set) var stuck = 0
    /// Accounts that were replayed before, or whose request was cancelled here: somebody has decided about them since.
    package private(set) var decided = 0
    /// Accounts that were created under an id of the list after its request, and so are not the ones that were meant.
    package private(set) var others = 0

    /// The steps of a kind.
    package func steps(_ act: Act) -> [Step] { steps.filter { $0.act == act } }

    /// How many requests are paused because somebody had stopped them.
    package var stopped: Int { steps.count { $0.act == .pause || $0.act == .reopen && $0.listed.isStopped } }

    /// How many accounts one statement reads.
    private static let page = 5000
    /// In seconds: the list has milliseconds, the database finer times.
    private static let precision = 0.001

    /// Compares a database with the list; changes nothing.
    ///
    /// - Throws: `HiddenAccounts`; ``OtherHashKey``; `PostgresError`.
    package static func plan(_ list: ErasureList, key: HashKey, on connection: isolated Connection) throws
        -> ErasureReplay
    {
        try HiddenAccounts.refuse(on: connection)
        try HashKeyCanary.check(key, on: connection)
        var replay = ErasureReplay()
        let open = try replay.compareRequests(with: list, key: key, on: connection)
        try replay.compareAccounts(with: list, key: key, open: open, on: connection)
        return replay
    }

    /// Compares the requests that are open here with the list.
    ///
    /// - Returns: The accounts with a request that stays open, and whether somebody stopped it.
    private mutating func compareRequests(
        with list: ErasureList,
        key: HashKey,
        on connection: isolated Connection
    ) throws -> [UUID: Bool] {
        let requests = try connection.query(
            """
            select r.id, r.user_id, r.paused_at is not null, \(DeletionBrakes.isHeld)
            from accountctl.deletion_requests as r
            where r.finished_at is null and r.user_id is not null
            order by r.requested_at, r.id
            """,
            as: (UUID, UUID, Bool, Bool).self
        )
        var open: [UUID: Bool] = [:]
        var loose: [Step] = []
        for (request, user, isPaused, isHeld) in requests {
            let listed = list.listed(request, of: SubjectHash(user, key: key))
            if let listed, listed.state == .cancelled {
                steps.append(Step(act: .cancel, user: user, listed: listed))
                continue
            }
            open[user] = isPaused || isHeld
            // An existing hold does not replace a pause that is lost: once the hold is released, the request would
            // continue.
            if let listed, !isPaused, listed.isPaused || listed.isHeld && !isHeld {
                loose.append(Step(act: .pause, user: user, listed: listed))
            }
        }
        let resumed = try Self.resumed(loose.map(\.listed.request), since: list.moment, on: connection)
        steps += loose.filter { !resumed.contains($0.listed.request) }
        return open
    }

    /// Compares the accounts with the list, some at a time.
    private mutating func compareAccounts(
        with list: ErasureList,
        key: HashKey,
        open: [UUID: Bool],
        on connection: isolated Connection
    ) throws {
        let wanted = list.wanted()
        let repeated = try Self.repeated(on: connection)
        var last: UUID?
        while true {
            let rows = try connection.query(
                """
                select u.id, u.created_at
                from auth.users as u
                where \(last)::uuid is null or u.id > \(last)
                order by u.id
                limit \(Self.page)
                """,
                as: (UUID, Date?).self
            )
            var found: [Step] = []
            for (user, createdAt) in rows {
                guard let listed = wanted[SubjectHash(user, key: key)] else { continue }
                // An account created again under an old id is one that somebody brought back on purpose.
                let meant = listed.filter { $0.lastMoment >= (createdAt ?? .distantPast) - Self.precision }
                let erased = meant.filter { $0.state == .verified }
                guard let newest = (erased.isEmpty ? meant : erased).max(by: { $0.requestedAt < $1.requestedAt }) else {
                    others += 1
                    continue
                }
                if let isStopped = open[user] {
                    self.open += 1
                    if isStopped, !erased.isEmpty { stuck += 1 }
                } else if repeated.contains(newest.request.text) {
                    decided += 1
                } else {
                    found.append(Step(act: erased.isEmpty ? .reopen : .erase, user: user, listed: newest))
                }
            }
            // The list may be older than the backup.
            let cancelled = try Self.cancelled(found.map(\.listed.request), on: connection)
            decided += found.count { cancelled.contains($0.listed.request) }
            steps += found.filter { !cancelled.contains($0.listed.request) }
            accounts += rows.count
            guard rows.count == Self.page else { return }
            last = rows.last?.0
        }
    }

    /// The requests that were opened again here before; whatever became of a request since, somebody knew about it.
    ///
    /// As text, since a log line is permanent, even one whose fact is not the id of a request.
    private static func repeated(on connection: isolated Connection) throws -> Set<String> {
        Set(
            try connection.query(
                """
                select distinct facts ->> \(fact)::text
                from accountctl.operator_log
                where action = 'deletion.request' and facts ->> \(fact)::text is not null
                """,
                as: String.self
            )
        )
    }

    /// Which of some requests were cancelled here.
    ///
    /// A request that was verified here is not among them: if its account exists as before, it was brought back in
    /// another way than by a backup of everything.
    private static func cancelled(_ requests: [UUID], on connection: isolated Connection) throws -> Set<UUID> {
        if requests.isEmpty { return [] }
        return Set(
            try connection.query(
                """
                select id
                from accountctl.deletion_requests
                where id = any(\(requests)) and state = \(DeletionState.cancelled.rawValue)
                """,
                as: UUID.self
            )
        )
    }

    /// Which of some requests an operator resumed after the list was written.
    private static func resumed(
        _ requests: [UUID],
        since moment: Date?,
        on connection: isolated Connection
    ) throws -> Set<UUID> {
        if requests.isEmpty { return [] }
        return Set(
            try connection.query(
                """
                select distinct (facts ->> 'request')::uuid
                from accountctl.operator_log
                where action = 'deletion.resume'
                  and (\(moment)::timestamptz is null or logged_at >= \(moment))
                  and facts ->> 'request' = any(\(requests.map(\.text)))
                """,
                as: UUID.self
            )
        )
    }

    /// The fact in the operators' log that names the request of the list.
    static let fact = "replays"

    /// The reason for requests and the operators' log, followed by the operator's own words.
    package static func reason(_ own: String?) -> String {
        "repeated from the list of erasures, after a restore" + (own.map { ": " + $0 } ?? "")
    }
}
