import Foundation
import TestSupport
import Testing

/// Every fault has a database of its own, and the doctor runs as a monitor would run it.
@Suite("The doctor", .timeLimit(.minutes(5)))
struct DoctorTests {
    @Test("finds nothing wrong with a sound database, and exits with 0")
    func sound() async throws {
        try await DoctorStage.with { deployment in
            let (status, findings) = try await deployment.examine()
            #expect(status == 0)
            #expect(findings.filter { $0.severity != "notice" }.isEmpty, "\(findings)")
            let people = try await AccountctlProcess.run(
                "doctor",
                "--database-only",
                environment: deployment.variables
            )
            #expect(people.status == 0 && people.errors.contains("0 errors, 0 warnings"), "\(people.errors)")
            let away = deployment.variables.merging(["PGPORT": "1"]) { $1 }
            #expect(try await AccountctlProcess.run("doctor", "--database-only", environment: away).status == 75)
        }
    }

    @Test("explains findings that mean the same once, and each that has a remedy of its own by itself")
    func alike() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                create table public.posts (author uuid references auth.users);
                create table public.likes (author uuid references auth.users);
                """
            )
            let told = try await AccountctlProcess.run(
                "doctor",
                "--database-only",
                environment: deployment.variables
            )
            let lines = told.output.split(separator: "\n")
            let keys = lines.indices.filter { lines[$0].contains("deletion.blocking_key: ") }
            #expect(keys.count == 2 && keys.last == keys.first.map { $0 + 1 }, "\(told)")
            #expect(lines.count { $0.contains("Decide what happens to these rows") } == 1, "\(told)")
            // What to do about each missing index is a statement of its own.
            #expect(lines.count { $0.contains("create index concurrently") } == 2, "\(told)")
        }
    }

    @Test("does not count findings that --except names, but still shows them")
    func exceptions() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                "create table public.posts (id int primary key, author uuid references auth.users)"
            )
            let (_, findings) = try await deployment.examine()
            let known = Set(findings.filter { $0.severity == "warning" }.map(\.code))
            #expect(known.contains("deletion.blocking_key"))
            func strict(except codes: Set<String>) async throws -> (status: Int32, output: String, errors: String) {
                let options = codes.sorted().flatMap { ["--except", $0] }
                let result = try await AccountctlProcess(
                    ["doctor", "--database-only", "--strict"] + options,
                    environment: deployment.variables
                ).result()
                return (result.status, result.output, result.errors)
            }
            let all = try await strict(except: known)
            #expect(all.status == 0, "\(all)")
            #expect(all.output.contains("deletion.blocking_key") && !all.errors.contains("--except"), "\(all)")
            let others = known.subtracting(["deletion.blocking_key"])
            let mistyped = try await strict(except: others.union(["deletion.blocking"]))
            #expect(mistyped.status == 1)
            #expect(mistyped.errors.contains("--except deletion.blocking: no finding with this code"), "\(mistyped)")
        }
    }

    @Test("names commands for the environment that it examined, as the worker's log does")
    func elsewhere() async throws {
        try await DoctorStage.with { deployment in
            let paused = try await AccountctlProcess.run(
                "deletion",
                "pause",
                "--all",
                environment: deployment.variables
            )
            #expect(paused.status == 0, "\(paused.errors)")
            try await deployment.database.psql(
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, requested_at, run_after, legal_deadline
                )
                values (
                    gen_random_uuid(), 'app', 'blocked', now() - interval '40 days', now() - interval '39 days',
                    now() - interval '1 day'
                )
                """
            )
            let file = try deployment.file("staging.conf", "[environments.staging.log]\nlevel = info\n")
            let place = ["--environment", "staging", "--config", file]
            let command = "accountctl \(place.joined(separator: " ")) deletion "
            for form in [["--json", "todo"], []] {
                let doctor = try await AccountctlProcess(
                    ["doctor", "--database-only"] + place + form,
                    environment: deployment.variables
                ).result()
                for words in ["resume --all", "list --state blocked", "show"] {
                    #expect(doctor.output.replacing(#"\/"#, with: "/").contains(command + words), "\(doctor)")
                }
                #expect(!doctor.output.contains("accountctl deletion"), "\(doctor)")
            }
            // This simulates a clone.
            try await deployment.database.psql(
                """
                update accountctl.settings
                set value = jsonb_set(value, '{database}', '"1/1"')
                where name = 'deletion.used_with'
                """
            )
            let worker = try await AccountctlProcess(
                ["worker", "--until-idle"] + place,
                environment: deployment.variables
            ).result()
            #expect(worker.errors.replacing(#"\/"#, with: "/").contains(command + "resume --all"), "\(worker)")
        }
    }

    @Test("reports an unreachable or outdated database together with all other findings")
    func databaseAway() async throws {
        try await DoctorStage.with { deployment in
            let away = deployment.variables.merging(["PGHOST": "/nowhere", "ACCOUNTCTL_DELETION_GRACE": "soon"]) { $1 }
            let result = try await AccountctlProcess(["doctor", "--json"], environment: away).result()
            #expect(result.status == 75, "\(result.errors)")
            let findings = try JSONDecoder().decode([DoctorFinding].self, from: Data(result.output.utf8))
            #expect(findings.contains { $0.code == "database.reachable" && $0.severity == "error" }, "\(findings)")
            #expect(findings.contains { $0.code == "settings" && $0.what.contains("deletion.grace") })
            #expect(findings.contains { $0.code == "storage.settings" })

            try await deployment.database.psql("alter table accountctl.apple_rejections rename to rejections")
            let behind = try await deployment.find("schema.behind", "error")
            #expect(behind.contains("the rejections by Apple"))
            let (status, others) = try await deployment.examine()
            #expect(
                status == 1 && others.contains { $0.code == "mail.no_stream" || $0.code == "schema.drift" },
                "\(others)"
            )
        }
    }
}
