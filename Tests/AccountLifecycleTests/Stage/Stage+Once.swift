import AccountLifecycle
import Foundation

extension Stage {
    /// Drives a request once, and runs `act` when the drive reaches a point for the first time.
    @discardableResult
    func drive(
        _ request: UUID,
        _ policy: DeletionPolicy = Stage.swift,
        once point: DeletionPoint,
        _ act: @escaping @Sendable () async throws -> Void
    ) async throws -> DeletionDriver.Pause {
        try await drive(request, policy, probe: AccountLifecycleTests.once(at: point, act))
    }

    /// Does the same with a drive that may crash.
    func driveToCrash(
        _ request: UUID,
        once point: DeletionPoint,
        _ act: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await driveToCrash(request, AccountLifecycleTests.once(at: point, act))
    }
}

/// A probe that runs `act` when a point is reached for the first time.
func once(at point: DeletionPoint, _ act: @escaping @Sendable () async throws -> Void) -> DeletionProbe {
    let left = Counter(1)
    return { reached in
        if reached == point, left.take() { try await act() }
    }
}
