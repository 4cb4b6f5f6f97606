/// The system refused a thread or a descriptor.
package struct EventThreadError: Error, CustomStringConvertible {
    /// The call that failed.
    let call: String

    /// The system's error number.
    let number: Int32

    package var description: String { "\(call) failed with error \(number)" }
}
