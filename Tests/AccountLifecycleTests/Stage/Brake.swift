import Foundation
import Postgres

@testable import AccountLifecycle

/// Every way to stop a request whose account is locked out.
enum Brake: CaseIterable {
    case everythingPaused, requestPaused, held, otherAccount

    var situation: Situation.Code {
        switch self {
        case .everythingPaused, .requestPaused: .paused
        case .held: .legalHold
        case .otherAccount: .otherAccount
        }
    }
}

extension Stage {
    func pull(_ brake: Brake, on person: Person, _ request: UUID) async throws {
        switch brake {
        case .everythingPaused:
            try await pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
        case .requestPaused:
            _ = try await pool.withConnection { try await desk.pause(request, reason: "test", on: $0) }
        case .held:
            _ = try await pool.withConnection { try await desk.hold(person.id, reason: "court", on: $0) }
        case .otherAccount:
            try await sql("update auth.users set created_at = now() + interval '1 hour' where id = \(person.id)")
        }
    }

    func release(_ brake: Brake, on person: Person, _ request: UUID) async throws {
        switch brake {
        case .everythingPaused:
            try await pool.withConnection { try await desk.resumeAll(on: $0) }
        case .requestPaused:
            _ = try await pool.withConnection { try await desk.resume(request, on: $0) }
        case .held:
            _ = try await pool.withConnection { try await desk.release(person.id, reason: nil, on: $0) }
        case .otherAccount:
            try await sql("update auth.users set created_at = now() - interval '1 hour' where id = \(person.id)")
        }
    }
}
