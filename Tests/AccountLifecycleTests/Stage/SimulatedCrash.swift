import AccountLifecycle

/// The simulated death of a process at one point.
struct SimulatedCrash: Error {
    /// A probe that throws the first time a point is reached.
    static func once(at point: DeletionPoint) -> DeletionProbe {
        AccountLifecycleTests.once(at: point) { throw SimulatedCrash() }
    }
}
