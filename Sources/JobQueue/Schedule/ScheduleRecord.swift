#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Where a schedule stands.
package struct ScheduleRecord: Sendable, Hashable {
    package let name: String
    /// The cron line; nil where only another release knows the schedule.
    package let line: String?
    /// The zone of the line.
    package let zone: String?
    package let kind: String?
    /// The latest instant of the past that a worker dealt with; nil before the first.
    package let last: Date?
    /// The job that was added for it, or the unfinished one that had its unique key; nil for an instant that was only
    /// remembered.
    package let job: Int64?
    /// The next instant; nil where the line is not known.
    package let next: Date?
    /// The latest instant still to come that a worker dealt with all the same, by a clock that was set back since.
    package let ahead: Date?
}
