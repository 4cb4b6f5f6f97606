#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why an operator's act on a request, or on its account, is too late or too early.
package enum DeletionRefusal: Sendable, Hashable {
    /// This step has begun, and cannot be undone.
    case begun(step: DeletionStep)
    /// This step of the request is in progress, and cannot be interrupted.
    case underWay(step: DeletionStep, request: UUID)
    /// Another act, or a worker, has the request or its account locked.
    case busy
    /// No identifiers are sealed, so none can be given up.
    case nothingLost
    /// The key of this name is at hand and opens the sealed identifiers, so none of them is lost.
    case identifiersReadable(key: String)
    /// Neither Apple nor a sealing key holds up the request: nothing in it waits for Apple.
    case notHeldUpByApple
    /// The account is locked out: the Apple step may have begun, and keeps to what it read then.
    case lockedOut
    /// Another pause of the request than the one that the operator was asked about.
    case pausedAgain
}
