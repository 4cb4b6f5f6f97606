import Foundation
import Sandbox
import TestSupport
import Testing

@Suite("The client secret of web sign-in in the Supabase project", .timeLimit(.minutes(5)))
struct ClientSecretPushTests {
    private static let web = "com.example.web"

    /// The settings for the management API.
    private func project(_ program: AppleProgram) throws -> [String: String] {
        [
            "ACCOUNTCTL_SUPABASE_PROJECT": program.sandbox.project.reference,
            "ACCOUNTCTL_SUPABASE_HOST": program.sandbox.baseURL,
            "ACCOUNTCTL_SUPABASE_ACCESS_TOKEN_FILE": try program.secretFile("token", program.sandbox.project.token),
        ]
    }

    private func push(
        _ program: AppleProgram,
        _ client: String,
        _ options: String...,
        environment: [String: String]
    ) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(
            ["apple", "client-secret", "push", client] + options,
            environment: program.variables.merging(environment) { $1 }
        ).result()
    }

    private func push(
        _ program: AppleProgram,
        copyTo path: String,
        _ settings: [String: String]
    ) async throws -> AccountctlProcess.Result {
        let project = program.sandbox.project.reference
        return try await push(program, Self.web, "--confirm", project, "--copy", path, environment: settings)
    }

    @Test("A new secret is stored in the project only after a dry run, a confirmation and a check of the client id")
    func pushes() async throws {
        try await AppleProgram.with { program in
            let project = program.sandbox.project
            let settings = try self.project(program)
            let unset = try await push(program, Self.web, "--confirm", project.reference, environment: [:])
            #expect(unset.status == 2)
            #expect(unset.errors.contains("supabase.project"))
            let rehearsal = try await push(program, Self.web, "--dry-run", environment: settings)
            #expect(rehearsal.status == 0)
            #expect(rehearsal.errors.contains(project.reference))
            let unconfirmed = try await push(program, Self.web, environment: settings)
            #expect(unconfirmed.status == 2)
            let production = settings.merging(["ACCOUNTCTL_PRODUCTION": "yes"]) { $1 }
            let marked = try await push(program, Self.web, "--confirm", project.reference, environment: production)
            #expect(marked.status == 2)
            #expect(marked.errors.contains("--production"))
            // The project signs in with another client id than the one that this secret is for.
            let native = try await push(
                program,
                AppleProgram.clientID,
                "--confirm",
                project.reference,
                environment: settings
            )
            #expect(native.status == 6)
            #expect(native.errors.contains("as com.example.web"))
            #expect(project.settings.secret == nil)

            let copy = try program.secretFile("copy", "old")
            let done = try await push(program, copyTo: copy, settings)
            #expect(done.status == 0, "\(done.errors)")
            let secret = try #require(project.settings.secret)
            #expect(try String(contentsOfFile: copy, encoding: .utf8) == secret + "\n")
            #expect(try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int == 0o600)
            #expect(!(done.output + done.errors).contains(secret))
            let read = try await program.run("apple", "client-secret", "inspect", copy, "--json", "client_id,days_left")
            #expect(read.status == 0)
            #expect(read.output.contains(Self.web))
        }
    }

    /// The secret is often renewed by root and read by the worker's user.
    @Test(
        "The copy keeps its owner, group and mode, also behind a link; a new copy is reported",
        .enabled(if: geteuid() == 0, "root alone gives files away")
    )
    func copyOwner() async throws {
        try await AppleProgram.with { program in
            let project = program.sandbox.project
            let settings = try self.project(program)
            let copy = try program.secretFile("copy", "old")
            #expect(chown(copy, 4711, 4712) == 0 && chmod(copy, 0o640) == 0)
            let link = copy + ".link"
            #expect(symlink(copy, link) == 0)
            for path in [copy, link] {
                let done = try await push(program, copyTo: path, settings)
                #expect(done.status == 0, "\(done.errors)")
                let secret = try #require(project.settings.secret)
                #expect(try String(contentsOfFile: copy, encoding: .utf8) == secret + "\n")
                var found = stat()
                #expect(lstat(copy, &found) == 0)
                #expect(found.st_uid == 4711 && found.st_gid == 4712 && found.st_mode & 0o7777 == 0o640)
                #expect(lstat(link, &found) == 0 && found.st_mode & S_IFMT == S_IFLNK)
            }
            let new = copy + ".first"
            let done = try await push(program, copyTo: new, settings)
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.errors.contains("\(new) is a new file"), "\(done.errors)")
            var found = stat()
            #expect(lstat(new, &found) == 0 && found.st_mode & 0o7777 == 0o600)
        }
    }

    @Test("A copy that cannot be written leaves the project's secret as it is")
    func copyRefused() async throws {
        try await AppleProgram.with { program in
            let project = program.sandbox.project
            let settings = try self.project(program)
            let folder = try program.secretFile("file", "x") + ".d"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            for path in [folder, folder + "/none/copy"] {
                let refused = try await push(program, copyTo: path, settings)
                #expect(refused.status != 0)
                #expect(project.settings.secret == nil)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test("A worker that cannot read the copy of the secret starts, and warns that nobody checks when it expires")
    func unreadableCopy() async throws {
        try await AppleProgram.with { program in
            let gone = try program.secretFile("file", "x") + ".gone"
            let settings = ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET_FILE": gone]
            let worker = try AccountctlProcess(["worker"], environment: program.variables.merging(settings) { $1 })
            #expect(try await worker.waitForErrors(containing: "the copy of the web client secret cannot be read"))
            // Until this line the worker does not handle signals.
            #expect(try await worker.waitForErrors(containing: "started"))
            worker.signal(SIGTERM)
            let result = try await worker.result()
            #expect(result.status == 0, "\(result.errors)")
            let report = try await program.run("doctor", "--json", "severity,code,what", environment: settings).output
            #expect(report.contains("cannot read the file \(gone): No such file or directory"), "\(report)")
        }
    }

    @Test("A refused access token, a throttled API and a project without Apple have their own exit codes")
    func refusals() async throws {
        try await AppleProgram.with { program in
            let project = program.sandbox.project
            let settings = try self.project(program)
            let stranger = settings.merging([
                "ACCOUNTCTL_SUPABASE_ACCESS_TOKEN_FILE": try program.secretFile("other", "sbp_other")
            ]) { $1 }
            let refused = try await push(program, Self.web, "--confirm", project.reference, environment: stranger)
            #expect(refused.status == 4)
            #expect(!refused.errors.contains("sbp_other"))
            program.sandbox.faults.set(.status(429, retryAfter: "60"), for: .projectAuth)
            let throttled = try await push(program, Self.web, "--confirm", project.reference, environment: settings)
            #expect(throttled.status == 75)
            program.sandbox.faults.clearAll()
            project.change { $0.isOn = false }
            let off = try await push(program, Self.web, "--confirm", project.reference, environment: settings)
            #expect(off.status == 6)
            #expect(project.settings.secret == nil)
        }
    }

    @Test("The doctor reports missing client ids, a pasted .p8 key, a secret that expires soon, and no answer")
    func doctor() async throws {
        try await AppleProgram.with { program in
            let project = program.sandbox.project
            let settings = try self.project(program)
            func look() async throws -> String {
                try await program.run("doctor", "--json", "severity,code,what", environment: settings).output
            }
            #expect(try await look().contains("lists the same client ids"))
            // A secret signed with a key that was replaced since stays valid until that key is revoked.
            let made = try await program.run("apple", "client-secret", "print", Self.web)
            let kept = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
            project.change { ($0.secret, $0.showsSecret) = (kept, true) }
            #expect(try await !look().contains("is signed with the key"))
            let changed = settings.merging(["ACCOUNTCTL_APPLE_KEY_ID": "ZZZZZZZZZZ"]) { $1 }
            let told = try await program.run("doctor", "--json", "code,what", environment: changed).output
            let keyID = program.sandbox.apple.developerKey.keyID
            #expect(told.contains("is signed with the key \(keyID), and apple.key_id is ZZZZZZZZZZ"), "\(told)")
            // After a transfer, the secret is still the former team's.
            let moved = settings.merging(["ACCOUNTCTL_APPLE_TEAM_ID": "RECIPIENT1"]) { $1 }
            let former = try await program.run("doctor", "--json", "severity,code,what", environment: moved).output
            let teamID = program.sandbox.apple.developerKey.teamID
            #expect(former.contains("is of the team \(teamID), and apple.team_id is RECIPIENT1"), "\(former)")
            let short = try await program.run("apple", "client-secret", "print", Self.web, "--life", "12d")
            let ending = short.output.trimmingCharacters(in: .whitespacesAndNewlines)
            project.change { settings in
                settings.clientIDs = ["com.example.web", "com.example.forgotten"]
                (settings.secret, settings.showsSecret) = (ending, true)
            }
            let first = try await look()
            #expect(first.contains("does not list the client id com.example.app"), "\(first)")
            #expect(first.contains("sign in with com.example.forgotten"), "\(first)")
            #expect(first.contains("expires in 11 days"), "\(first)")
            let key = program.sandbox.apple.developerKey.privateKey
            project.change { $0.secret = key }
            let second = try await look()
            #expect(second.contains("is the .p8 key itself"), "\(second)")
            #expect(!second.contains("PRIVATE KEY"))
            program.sandbox.faults.set(.status(429, retryAfter: "60"), for: .projectAuth)
            let third = try await program.run("doctor", "--json", "code,todo", environment: settings).output
            #expect(third.contains("supabase.reachable") && third.contains("status.supabase.com"), "\(third)")
        }
    }

    @Test("A worker warns once a day that the secret expires")
    func reminder() async throws {
        try await AppleProgram.with { program in
            let short = try await program.run("apple", "client-secret", "print", Self.web, "--life", "12d")
            let settings = ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET_FILE": try program.secretFile("web", short.output)]
            // A schedule starts with the instant after the first one that was recorded.
            try await program.database.psql(
                "insert into accountctl.periodic_slots (name, slot) values ('apple.remind_web_secret', now() - interval '2 days')"
            )
            let worker = try AccountctlProcess(
                ["worker"],
                environment: program.variables.merging(settings) { $1 }
            )
            #expect(try await worker.waitForErrors(containing: "web client secret"))
            worker.signal(SIGTERM)
            var told = try await worker.result().errors
            told += try await program.run("worker", "--until-idle", environment: settings).errors
            let lines = told.split(separator: "\n").filter { $0.contains("web client secret") }
            let instants = try await program.database.psql(
                "select count(*) - 1 from accountctl.periodic_slots where name = 'apple.remind_web_secret'"
            )
            #expect("\(lines.count)" == instants)
            #expect(lines.first?.contains("com.example.web") == true)
            #expect(lines.first?.contains("warning") == true)
            #expect(!told.contains(short.output.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
    }

    @Test("The doctor reports a missing key file, and does not call its client ids unconfigured")
    func goneKey() async throws {
        try await AppleProgram.with(recorded: true) { program in
            var environment = try project(program)
            let sound = try await program.run("doctor", "--json", "code,what", environment: environment).output
            #expect(sound.contains("lists the same client ids"), "\(sound)")
            environment["ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE"] = "/nowhere/gone.p8"
            let report = try await program.run("doctor", "--json", "code,what", environment: environment).output
            #expect(report.contains("gone.p8"), "\(report)")
            #expect(!report.contains("not configured here") && !report.contains("apple.settings"), "\(report)")
            #expect(!report.contains("lists the same client ids"), "\(report)")
        }
    }

    @Test("The doctor recognises codes that were issued to another client id than the one the app submits")
    func wrongClient() async throws {
        try await AppleProgram.with(recorded: true) { program in
            for _ in 0..<3 {
                let person = try await program.signUp(credential: false)
                try await program.submit(person.code, of: person, clientID: Self.web)
            }
            let other = try await program.signUp(credential: false)
            try await program.submit(other.code, of: other, clientID: "com.example.unknown")
            #expect(try await program.run("worker", "--until-idle").status == 0)
            let report = try await program.run("doctor", "--database-only", "--json", "what,why").output
            let refused = "Apple refused all 3 codes that 3 accounts submitted for com.example.web"
            #expect(report.contains(refused), "\(report)")
            #expect(report.contains("usually a Services ID was named for a native sign-in"))
            #expect(report.contains("for 1 client id that is not configured here: com.example.unknown"), "\(report)")
        }
    }
}
