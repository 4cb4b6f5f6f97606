import Foundation
import Postgres

extension Stage {
    func setAvatar(of person: Person, _ text: String) async throws {
        try await sql("update public.profiles set avatar_url = \(text) where id = \(person.id)")
    }

    /// What the step at the avatars has counted.
    func avatarCounts(_ request: UUID) async throws -> [String: Int] {
        try await value(
            """
            select facts -> 'counts'
            from accountctl.deletion_steps
            where request_id = \(request) and step = 'delete_avatars'
            """,
            as: JSON<[String: Int]>.self
        ).value
    }
}
