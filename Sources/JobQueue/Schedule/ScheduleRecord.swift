#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The status of a schedule.
package struct ScheduleRecord: Sendable, Hashable {
    package let name: String
    /// The cron line; nil if only another release knows the schedule.
    package let line: String?
    /// The zone of the line.
    package let zone: String?
    package let kind: String?
    /// The latest past instant that a worker handled; nil before the first.
    package let last: Date?
    /// The job that was added for it, or the unfinished one that had its unique key; nil if the instant was only
    /// recorded.
    package let job: Int64?
    /// The next instant; nil if the line is not known.
    package let next: Date?
    /// The latest future instant that a worker has already handled, by a clock that has since been set back.
    package let ahead: Date?
}
