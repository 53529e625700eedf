import FerryCore

/// The part of a column under `set`, beside its plain value: for each element its last addition or removal.
///
/// A plain write decides about every element; the part counts where it is later.
package struct SetPart: Hashable, Sendable {
    package struct Element: Hashable, Sendable {
        package var stamp: Stamp
        /// The element's place in the array that added it; `nil` for a removal.
        package var position: Int?

        package init(_ stamp: Stamp, position: Int?) {
            self.stamp = stamp
            self.position = position
        }
    }

    /// By the element's canonical JSON.
    package var elements: [[UInt8]: Element]

    package init(elements: [[UInt8]: Element]) { self.elements = elements }

    var newest: Stamp? { elements.values.map(\.stamp).max() }

    mutating func merge(_ other: SetPart) {
        elements.merge(other.elements) { left, right in
            if left.stamp != right.stamp { return left.stamp < right.stamp ? right : left }
            // Two copies of a device: there rather than not, further back rather than in front.
            return (left.position ?? -1) < (right.position ?? -1) ? right : left
        }
    }

    /// Forgets everything that a plain write has overtaken.
    mutating func forget(before plain: Stamp) { elements = elements.filter { plain < $0.value.stamp } }

    /// The visible value: the elements in the order of their additions, or the plain value if nothing came after.
    static func shown(_ part: SetPart?, _ plain: StampedValue?) -> FieldValue? {
        guard let part else { return plain?.value }
        let later = part.elements.filter { entry in plain.map { $0.stamp < entry.value.stamp } ?? true }
        if later.isEmpty, let plain { return plain.value }
        var present: [(content: [UInt8], stamp: Stamp, position: Int)] = []
        if let plain {
            for (position, content) in (JSONArray.elements(of: plain.value) ?? []).enumerated()
            where later[content] == nil {
                present.append((content, plain.stamp, position))
            }
        }
        for (content, element) in later {
            if let position = element.position { present.append((content, element.stamp, position)) }
        }
        present.sort { left, right in
            if left.stamp != right.stamp { return left.stamp < right.stamp }
            if left.position != right.position { return left.position < right.position }
            return left.content.lexicographicallyPrecedes(right.content)
        }
        return JSONArray.text(of: present.map(\.content))
    }

    /// The part that a local write makes: its additions and removals.
    /// - Returns: `nil` for a plain write: the write is no JSON array, or an empty array in place of something else.
    static func written(_ value: FieldValue, _ stamp: Stamp, shown: FieldValue?) -> SetPart? {
        guard let present = JSONArray.elements(of: value) else { return nil }
        let former = shown.flatMap { JSONArray.elements(of: $0) }
        if former == nil, present.isEmpty { return nil }
        let (before, after) = (Set(former ?? []), Set(present))
        var elements: [[UInt8]: Element] = [:]
        for (position, content) in present.enumerated() where !before.contains(content) {
            elements[content] = Element(stamp, position: position)
        }
        for content in before where !after.contains(content) { elements[content] = Element(stamp, position: nil) }
        return SetPart(elements: elements)
    }
}
