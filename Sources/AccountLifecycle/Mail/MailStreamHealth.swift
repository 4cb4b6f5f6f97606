package import MailRelay
package import Postgres

/// The health of a mail stream according to its checks.
package struct MailStreamHealth: Sendable, Hashable {
    /// The stream.
    package let name: String
    /// Whether the stream's mail reaches the relay, as settled; nil before the first settled verdict.
    package let reachable: Reachability?
    /// The verdict on the SPF path.
    package let spf: PathVerdict?
    /// The verdict on the DKIM path.
    package let dkim: PathVerdict?
    /// Whether the verdict was not confirmed for three days.
    package let isOld: Bool
    /// Whether the next check is more than two hours overdue.
    package let isOverdue: Bool
    /// Whether DNS did not answer the newest check.
    package let isSilent: Bool
    /// What the newest check found on the SPF path, settled or not.
    package let seenSPF: PathVerdict?
    /// What the newest check found on the DKIM path, settled or not.
    package let seenDKIM: PathVerdict?
}

extension MailStreamStore {
    /// The health of all streams, sorted by name.
    package static func health(on connection: isolated Connection) throws -> [MailStreamHealth] {
        try connection.query(
            """
            select
                stream.name, stream.reachable, stream.spf, stream.dkim,
                coalesce(stream.confirmed_at < now() - interval '3 days', false),
                stream.next_check_at < now() - interval '2 hours',
                stream.standing ->> 'unknownSince' is not null,
                seen.spf, seen.dkim
            from accountctl.mail_streams as stream
            left join lateral (
                select spf, dkim
                from accountctl.mail_checks
                where stream_id = stream.id
                order by checked_at desc, id desc
                limit 1
            ) as seen on true
            order by stream.name
            """,
            into: MailStreamHealth.init
        )
    }
}
