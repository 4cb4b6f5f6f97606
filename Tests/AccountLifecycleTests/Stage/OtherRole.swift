import Foundation
import Postgres
import TestSupport

/// A role beside the app's, with a schema `others` that anybody may use; it may make things in `public`, too.
struct OtherRole: Sendable {
    let name: String
    let stage: Stage

    /// Makes the role, and as it what `sql` says; the sequence `others.calls` is there to count with.
    init(on stage: Stage, making sql: String) async throws {
        self.stage = stage
        // Roles are the cluster's, which other tests share.
        name = "other_" + UUID().uuidString.prefix(8).lowercased()
        try await stage.database.psql(
            """
            create role \(name);
            create schema others authorization \(name);
            grant usage on schema others to public;
            grant create on schema public to \(name);
            set role \(name);
            create sequence others.calls;
            grant usage on sequence others.calls to public;
            \(sql)
            """
        )
    }

    /// How often code of the role's counted itself.
    func calls() async throws -> Int {
        try await stage.value("select case when is_called then last_value else 0 end from others.calls", as: Int.self)
    }

    func drop() async throws {
        try await stage.database.psql("drop owned by \(name) cascade; drop role \(name)")
    }
}
