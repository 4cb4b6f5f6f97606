import Foundation
import Postgres
import TestSupport
import Testing
import Waiting

@testable import AccountLifecycle

/// Brakes that are pulled while one pass scrubs the audit log for many requests.
@Suite(.timeLimit(.minutes(5))) struct BrakeWithinScrubTests {
    /// A pass serves many requests and may read for half an hour, so a brake that is pulled meanwhile rolls its changes
    /// back.
    @Test(arguments: [Brake.everythingPaused, .requestPaused])
    func aPassThatScrubsIsTakenBack(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.scrubAuth)))
            let before = try await stage.data(of: person)
            let drive = try await stage.admin.withTransaction { connection in
                try connection.execute("select from auth.audit_log_entries for update")
                let drive = Task { try await stage.drive(request) }
                try await connection.waitUntilSomebodyIsBlocked()
                try await stage.pull(brake, on: person, request)
                return drive
            }
            _ = try await drive.value
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.outcome(.scrubAuth, request) == nil)
            #expect(try await stage.data(of: person) == before)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.traces(of: person) == "")
        }
    }

    /// The other requests in the pass do not repeat the step, and what the pass did for them is kept.
    @Test func aPassThatScrubsGoesOnForTheOthers() async throws {
        try await Stage.with { stage in
            let services = stage.services()
            let driver = DeletionDriver(services)
            var people: [Person] = []
            var requests: [UUID] = []
            for name in ["anna", "berta", "clara"] {
                let person = try await stage.fullAccount(name)
                let request = try await stage.request(person)
                try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.scrubAuth)))
                people.append(person)
                requests.append(request)
            }
            let (first, stopped, other) = (requests[0], requests[1], requests[2])
            let lock = { @Sendable (person: Person, connection: isolated Connection) throws -> Void in
                try connection.execute(
                    "select from auth.audit_log_entries where payload ->> 'actor_id' = \(person.text) for update"
                )
            }
            let drives = try await stage.admin.withTransaction { [people] connection in
                try lock(people[2], connection)
                // The first request has a pass of its own, and the two that arrive meanwhile share the next one.
                let drives = try await stage.admin.withTransaction { connection in
                    try lock(people[0], connection)
                    var drives = [Task { try await driver.drive(first) }]
                    try await connection.waitUntilSomebodyIsBlocked()
                    for request in [stopped, other] { drives.append(Task { try await driver.drive(request) }) }
                    try await eventually("both wait") { services.scrubs.waitingCount >= 2 }
                    return drives
                }
                try await connection.waitUntilSomebodyIsBlocked()
                try await stage.pull(.requestPaused, on: people[1], stopped)
                return drives
            }
            for drive in drives { _ = try await drive.value }
            #expect(try await stage.situation(stopped)?.code == .paused)
            #expect(try await stage.outcome(.scrubAuth, stopped) == nil)
            #expect(try await stage.state(other) == "verified")
            // One run before the crash, and one after it.
            let runs = try await stage.value(
                "select runs from accountctl.deletion_steps where request_id = \(other) and step = 'scrub_auth'",
                as: Int.self
            )
            #expect(runs == 2)
            try await stage.release(.requestPaused, on: people[1], stopped)
            #expect(try await driver.drive(stopped) == .ended(.verified))
            for person in people { #expect(try await stage.traces(of: person) == "") }
        }
    }

    /// No pass reads the whole table for requests that are stopped anyway.
    @Test func whereEverythingIsPausedTheAuditLogIsNotRead() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.scrubAuth)))
            try await stage.admin.withTransaction { connection in
                try connection.execute("lock table auth.audit_log_entries in access exclusive mode")
                try await stage.drive(request) { point in
                    if point == .begun(.scrubAuth) { try await stage.pull(.everythingPaused, on: person, request) }
                }
            }
            #expect(try await stage.situation(request)?.code == .paused)
        }
    }
}
