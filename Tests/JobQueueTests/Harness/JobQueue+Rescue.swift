import Foundation
import Postgres

@testable import JobQueue

extension JobQueue {
    /// Rescues by the server's clock alone.
    func rescue(on connection: isolated Connection) throws -> (jobs: Int, workers: Int) {
        try rescue(by: .distantFuture, on: connection)
    }
}
