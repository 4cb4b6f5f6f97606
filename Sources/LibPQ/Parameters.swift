import CLibpq

/// The parameters of one statement, as one buffer of bytes.
///
/// One buffer and offsets, so that the array of pointers that libpq expects is created inside a single closure and no
/// pointer outlives the memory it points into.
package struct Parameters: Sendable, Equatable {
    /// One parameter's place in the buffer.
    struct Slot: Sendable, Equatable {
        var isBinary: Bool
        var offset: Int
        /// Negative for NULL.
        var length: Int
    }

    /// The object ids of the types; zero leaves a type to the server.
    package private(set) var types: [UInt32] = []

    private(set) var slots: [Slot] = []
    private(set) var bytes: [UInt8] = []

    /// Creates an empty list.
    package init() {}

    /// Creates an empty list with room for `count` parameters.
    package init(minimumCapacity count: Int) {
        types.reserveCapacity(count)
        slots.reserveCapacity(count)
        // Most values are short.
        bytes.reserveCapacity(count * 16)
    }

    /// The number of parameters.
    package var count: Int { slots.count }

    /// Adds NULL.
    package mutating func appendNull(type: UInt32) {
        types.append(type)
        slots.append(Slot(isBinary: true, offset: bytes.count, length: -1))
    }

    /// Adds a value whose bytes `write` appends.
    ///
    /// A value in text format must not contain a NUL, which would end it early for libpq.
    package mutating func append(type: UInt32, isBinary: Bool, _ write: (inout [UInt8]) -> Void) {
        let offset = bytes.count
        write(&bytes)
        types.append(type)
        slots.append(Slot(isBinary: isBinary, offset: offset, length: bytes.count - offset))
        if !isBinary { bytes.append(0) }
    }

    /// Adds the parameters of another list.
    package mutating func append(_ other: Parameters) {
        let base = bytes.count
        bytes += other.bytes
        types += other.types
        for var slot in other.slots {
            slot.offset += base
            slots.append(slot)
        }
    }

    /// Passes the arguments of libpq's sending functions to `body`; the pointers are valid only during the call.
    borrowing func withPointers<Result>(
        _ body: (
            Int32, UnsafePointer<UInt32>?, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        let count = slots.count
        guard count > 0 else { return body(0, nil, nil, nil, nil) }
        return unsafe bytes.withUnsafeBytes { buffer in
            // Never nil, so that an empty value is not taken for NULL.
            let base = unsafe (buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1))
            return unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * 2) { numbers in
                    for index in 0..<count {
                        let slot = slots[index]
                        let start = unsafe base?.advanced(by: slot.offset).assumingMemoryBound(to: CChar.self)
                        unsafe values.initializeElement(at: index, to: slot.length < 0 ? nil : start)
                        unsafe numbers.initializeElement(at: index, to: Int32(max(slot.length, 0)))
                        unsafe numbers.initializeElement(at: count + index, to: slot.isBinary ? 1 : 0)
                    }
                    let lengths = unsafe numbers.baseAddress.map { unsafe UnsafePointer($0) }
                    return unsafe types.withUnsafeBufferPointer { types in
                        unsafe body(
                            Int32(count),
                            types.baseAddress,
                            values.baseAddress.map { unsafe UnsafePointer($0) },
                            lengths,
                            lengths.map { unsafe $0 + count }
                        )
                    }
                }
            }
        }
    }
}
