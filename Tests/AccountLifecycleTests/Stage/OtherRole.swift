import Foundation
import Postgres
import TestSupport

/// A role other than the app's that owns the schema `others`, which anybody may use; it may also create objects in
/// `public`.
struct OtherRole: Sendable {
    let name: String
    let stage: Stage

    /// Creates the role and runs `sql` as that role, whose functions count their calls in the sequence `others.calls`.
    init(on stage: Stage, making sql: String) async throws {
        self.stage = stage
        // Roles belong to the cluster, which other tests share.
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

    /// The number of calls that functions of the role have counted.
    func calls() async throws -> Int {
        try await stage.value("select case when is_called then last_value else 0 end from others.calls", as: Int.self)
    }

    func drop() async throws {
        try await stage.database.psql("drop owned by \(name) cascade; drop role \(name)")
    }
}
