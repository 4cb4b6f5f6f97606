extension UInt8 {
    /// The lower-case form of an ASCII letter; any other byte as it is.
    var asciiLowercased: UInt8 {
        self &- 65 < 26 ? self | 0x20 : self
    }

    /// An ASCII digit.
    var isASCIIDigit: Bool { self &- 48 < 10 }

    /// An ASCII letter or digit.
    var isASCIIAlphanumeric: Bool { isASCIIDigit || (self | 0x20) &- 97 < 26 }

    /// The value of a hexadecimal digit; nil for any other byte.
    var hexValue: UInt8? {
        if isASCIIDigit { return self - 48 }
        let letter = (self | 0x20) &- 97
        return letter < 6 ? letter + 10 : nil
    }
}
