import Foundation
import Postgres
import Sandbox

extension Stage {
    /// A person's credentials, and all data outside our own schema that a deletion removes, as one text.
    func data(of person: Person) async throws -> String {
        let rows = try await value(
            """
            select concat_ws(
                ' ',
                (select count(*) || coalesce(max(banned_until)::text, '') from auth.users where id = \(person.id)),
                (select count(*) from auth.sessions where user_id = \(person.id)),
                (select count(*) from auth.flow_state where user_id = \(person.id)),
                (select count(*) from auth.audit_log_entries where payload ->> 'actor_id' = \(person.text)),
                (select count(*) from storage.objects where owner = \(person.id)),
                (select count(*) from accountctl.apple_credentials where user_id = \(person.id)),
                (select count(*) from accountctl.deletion_requests where user_id = \(person.id))
            )
            """,
            as: String.self
        )
        let consent = person.sub.map { sandbox.apple.consent(sub: $0, clientID: Self.clientID) }
        return "\(rows) \(consent.map { "\($0)" } ?? "")"
    }
}
