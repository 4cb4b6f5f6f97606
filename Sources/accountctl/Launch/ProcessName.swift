#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The name of this process among the workers.
enum ProcessName {
    /// Host and process id, as `jobs workers` shows it.
    static let own = "\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"
}
