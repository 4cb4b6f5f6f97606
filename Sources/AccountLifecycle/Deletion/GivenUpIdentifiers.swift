package import Postgres
package import Sealing

/// Identifiers of requests that an operator gave up with their key, for good.
///
/// They are wiped then: what is sealed with such a request was collected since, and its key is needed as every other.
/// An earlier release left them where they were, and neither opened nor counted them.
package enum GivenUpIdentifiers {
    /// What the operators' log says of a request whose identifiers were given up, and wiped.
    static let facts = ["given_up": "identifiers"]

    /// Wipes what an earlier release gave up and left, so that nobody waits for its key.
    ///
    /// That is what is under a key that was forgotten, or what an operator went on without before the log said that it
    /// is wiped. What a key of this worker sealed is left in any case.
    ///
    /// - Returns: Of how many requests.
    /// - Throws: `PostgresError`.
    package static func wipeEarlier(besides keys: KeyRing, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            update accountctl.deletion_requests as r
            set sealed_identifiers = null, sealing_key_id = null
            where r.finished_at is null
              and r.without_identifiers
              and r.sealing_key_id <> all(\(keys.ids.map(\.text)))
              and (
                  not exists (
                      select
                      from accountctl.sealing_canaries as c
                      where c.key_id = r.sealing_key_id
                  )
                  or (
                      exists (\(proceeding))
                      and not exists (\(proceeding) and l.facts ->> 'given_up' is not null)
                  )
              )
            """
        )
    }

    /// The lines of the log by which the request `r` went on without something.
    private static let proceeding: Statement = """
        select
        from accountctl.operator_log as l
        where l.action = 'deletion.proceed'
          and l.facts ->> 'request' = r.id::text
        """
}
