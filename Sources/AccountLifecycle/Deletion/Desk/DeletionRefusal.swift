#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why an operator's act on a request, or on its account, is too late or too early.
package enum DeletionRefusal: Sendable, Hashable {
    /// This step has begun, and cannot be undone.
    case begun(step: DeletionStep)
    /// This step of the request is being taken, and nothing interrupts it.
    case underWay(step: DeletionStep, request: UUID)
    /// Another act, or a worker, has the request or its account locked.
    case busy
    /// No identifiers are sealed: none of them can be given up.
    case nothingLost
    /// Neither Apple nor a sealing key holds it up: nothing of it waits for Apple.
    case notHeldUpByApple
    /// The account is locked out: the step at Apple may have begun, and keeps to what it read then.
    case lockedOut
}
