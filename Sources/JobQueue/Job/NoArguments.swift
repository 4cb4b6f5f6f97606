/// The arguments of a job that needs none: an empty object.
package struct NoArguments: Codable, Sendable, Hashable {
    package init() {}
}
