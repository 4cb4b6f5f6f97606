import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Data that no search can read is named with the reason, since nobody knows what it contains.
@Suite(.timeLimit(.minutes(5))) struct UnreadableTests {
    private func reasons(
        _ unreadable: [SearchCatalog.Unreadable]?,
        in schema: String
    ) -> [String: SearchCatalog.Unreadable.Reason] {
        let ours = (unreadable ?? []).filter { $0.name.hasPrefix(schema + ".") }
        return Dictionary(ours.map { ($0.name, $0.reason) }) { first, _ in first }
    }

    @Test func theReceiptNamesItWithTheReason() async throws {
        try await Stage.with { stage in
            try await stage.database.psql(
                """
                create schema app;
                create table app.notes (text text, picture bytea);
                create foreign data wrapper nowhere;
                create server nowhere foreign data wrapper nowhere;
                create foreign table app.far_away (text text) server nowhere;
                -- Nobody has filled it: reading it is an error.
                create materialized view app.unfilled as select text from app.notes with no data
                """
            )
            let request = try await stage.request(try await stage.signUp())
            #expect(try await stage.drive(request) == .ended(.verified))
            let steps = try await stage.receipt(of: request).steps.filter { ["verify", "settle"].contains($0.step) }
            #expect(steps.count == 2)
            for step in steps {
                let told = reasons(step.facts.unreadable, in: "app")
                #expect(told == ["app.notes.picture": .bytes, "app.far_away": .foreignTable])
            }
        }
    }

    /// A role under row-level security gets neither the rows that it may not see nor an error.
    @Test func whatARoleIsNotShownIsNotTakenForNothing() async throws {
        try await Stage.with { stage in
            let other = try await OtherRole(on: stage, making: "select")
            try await stage.database.psql(
                """
                create schema closed;
                create table closed.notes (text text);
                create schema app;
                create table app.notes (open text, closed text);
                create table app.secrets (author uuid references auth.users, text text);
                alter table app.secrets enable row level security;
                grant usage on schema app, auth, accountctl to \(other.name);
                grant select (open) on app.notes to \(other.name);
                grant select on app.secrets to \(other.name)
                """
            )
            let (searched, deleted) = try await stage.admin.withTransaction { connection in
                try connection.execute("set local role \(identifier: other.name)")
                return (try SearchCatalog.read(on: connection), try DeletionCatalog.read(on: connection))
            }
            #expect(reasons(searched.unreadable, in: "closed") == ["closed.notes": .noRight])
            let told = reasons(searched.unreadable, in: "app")
            #expect(told == ["app.notes.closed": .noRight, "app.secrets": .hiddenRows])
            let read = searched.tables.filter { $0.name.schema == "app" }
            #expect(read.map(\.name.name) == ["notes"] && read.first?.columns.map(\.name) == ["open"])
            #expect(deleted.rights[TableName("app", "secrets")]?.hidesRows == true)
            try await other.drop()
        }
    }
}
