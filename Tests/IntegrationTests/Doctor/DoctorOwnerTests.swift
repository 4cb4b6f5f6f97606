import Foundation
import TestSupport
import Testing

@testable import accountctl

/// The owners of code that runs with our rights.
@Suite("The doctor reports on what a deletion runs through:", .timeLimit(.minutes(5)))
struct DoctorOwnerTests {
    @Test("owners of tables and trigger functions that a deletion runs through, except members of our role")
    func owners() async throws {
        try await DoctorStage.with { deployment in
            let suffix = UUID().uuidString.prefix(8).lowercased()
            let (other, kim) = ("other_\(suffix)", "kim_\(suffix)")
            try await deployment.database.psql(
                """
                create role \(other) login;
                create role \(kim) login in role postgres;
                create schema app authorization \(other);
                create table app.notes (author uuid references auth.users on delete cascade);
                create table app.drafts (author uuid references auth.users on delete set null);
                create table app.posts (author uuid references auth.users on delete cascade);
                create table app.plain (author uuid);
                create function app.tell() returns trigger language plpgsql as $$ begin return null; end $$;
                create function app.safe() returns trigger language plpgsql security definer as
                $$ begin return null; end $$;
                create trigger tell after delete on public.profiles for each row execute function app.tell();
                create trigger safe after delete on public.profiles for each row execute function app.safe();
                alter table app.notes owner to \(other);
                alter table app.drafts owner to \(other);
                alter table app.plain owner to \(other);
                alter table app.posts owner to \(kim);
                alter function app.tell() owner to \(other);
                alter function app.safe() owner to \(other);
                """
            )
            let what = try await deployment.find("deletion.owners", "warning")
            for name in ["app.notes", "app.drafts", "app.tell()"] { #expect(what.contains(name), "\(what)") }
            for name in ["app.posts", "app.plain", "app.safe"] { #expect(!what.contains(name), "\(what)") }
            #expect(what.hasPrefix("\(other) owns"), "\(what)")
            try await deployment.database.psql("alter role \(other) nologin")
            let (_, findings) = try await deployment.examine()
            #expect(!findings.contains { $0.code == "deletion.owners" }, "\(findings)")
            try await deployment.database.psql("drop owned by \(other), \(kim) cascade; drop role \(other), \(kim)")
        }
    }

    @Test("objects of the schema that belong to another role, except those that the schema's owner may use anyway")
    func schemaOwners() async throws {
        try await DoctorStage.with { deployment in
            let suffix = UUID().uuidString.prefix(8).lowercased()
            let (other, ours) = ("other_\(suffix)", "ours_\(suffix)")
            try await deployment.database.psql(
                """
                create role \(other);
                create role \(ours) role postgres;
                alter table accountctl.mail_checks owner to \(other);
                alter function accountctl.find_relay_accounts() owner to \(other);
                alter type accountctl.job_end owner to \(other);
                alter table accountctl.mail_streams owner to \(ours);
                alter table accountctl.job_history_default owner to \(other);
                """
            )
            let what = try await deployment.find("schema.owners", "error")
            #expect(
                what == """
                    \(other) owns objects in the schema of postgres: accountctl.find_relay_accounts(), \
                    accountctl.job_end and accountctl.mail_checks
                    """
            )
            let extra = (1...9).map { "accountctl.zz_\($0)" }
            try await deployment.database.psql(
                extra.map { "create table \($0) (); alter table \($0) owner to \(other);" }.joined()
            )
            let many = try await deployment.find("schema.owners", "error")
            #expect(many.hasSuffix(", accountctl.zz_7 and 2 more"), "\(many)")
            try await deployment.database.psql(
                """
                drop table \(extra.joined(separator: ", "));
                alter table accountctl.mail_checks owner to postgres;
                alter function accountctl.find_relay_accounts() owner to postgres;
                alter type accountctl.job_end owner to postgres;
                """
            )
            let (_, findings) = try await deployment.examine()
            #expect(!findings.contains { $0.code == "schema.owners" }, "\(findings)")
            try await deployment.database.psql("drop owned by \(other), \(ours) cascade; drop role \(other), \(ours)")
        }
    }
}
