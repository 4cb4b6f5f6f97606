import Foundation
import Postgres

@testable import AccountLifecycle

extension Stage {
    /// Has a request proceed without Apple, or without the identifiers that an operator has given up.
    func proceed(
        _ request: UUID,
        withoutApple: Bool = false,
        withoutIdentifiers: Bool = false
    ) async throws -> DeletionDesk.Act {
        let desk = desk
        return try await pool.withConnection { connection in
            try await desk.proceed(
                request,
                withoutApple: withoutApple,
                withoutIdentifiers: withoutIdentifiers,
                reason: "lost",
                on: connection
            )
        }
    }
}
