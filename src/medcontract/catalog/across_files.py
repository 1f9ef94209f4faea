"""MC3xx: rules across files."""

from __future__ import annotations

from medcontract.catalog.entry import Entry

ENTRIES = (
    Entry(
        "MC301", "Event differs",
        "The `event` of the submission differs from that of the truth. The submission is refused.",
        'truth: {"event": "spring"}, submission: {"event": "autumn"}',
        "score the submission against the truth of the same event",
    ),
    Entry(
        "MC302", "Missing record",
        "The submission has no record for an id of the truth. The item counts as not processed.",
        "truth: S-1 S-2 S-3, submission: S-1 S-3",
        'submission: S-1 S-2 S-3, S-2 with {"error": "timeout"} if it failed',
    ),
    Entry(
        "MC303", "Unknown id",
        "The submission has a record for an id that is not in the truth. The record is ignored.",
        "truth: R-001, submission: r-1",
        "submission: R-001",
    ),
    Entry(
        "MC304", "Case differs",
        "The segment belongs to a different case in the truth. The record counts as not processed.",
        "truth: S-7 in case C-2, submission: S-7 in case C-3",
        "submission: S-7 in case C-2",
    ),
    Entry(
        "MC305", "End of case differs",
        "`end_of_case` differs from the truth for this segment. The record counts as not processed.",
        "truth: S-7 ends its case, submission: end_of_case false",
        "submission: end_of_case true",
    ),
    Entry(
        "MC306", "Inventory out of order",
        "The inventory does not list the segments of a case in the order of their stop times. A warning.",
        "S-2 (stops at 120 s) before S-1 (stops at 60 s)",
        "S-1 before S-2",
    ),
    Entry(
        "MC307", "Unknown run",
        "The record belongs to a run that is not in the telemetry. The record is ignored.",
        'telemetry: runs "1" and "2", record: run_id "3"',
        'record: run_id "2"',
    ),
    Entry(
        "MC308", "Not in the manifest",
        "A labeled document is missing from the manifest. A warning.",
        "labels: RX-014, manifest: RX-001 to RX-012",
        "add RX-014 to the manifest",
    ),
    Entry(
        "MC309", "Proof of an unknown document",
        "A proof refers to a document that is not in the manifest, so it does not count. A warning.",
        '{"proofs": [{"doc_id": "RX-99", …}]}',
        '{"proofs": [{"doc_id": "RX-009", …}]}',
    ),
    Entry(
        "MC310", "Labeled as both kinds",
        "The same document is labeled both as a prescription and as a laboratory report.",
        "prescription labels: D-7, laboratory labels: D-7",
        "prescription labels: D-7",
    ),
    Entry(
        "MC311", "Model file missing",
        "The file named by `model_file` or `inference_script` does not exist in the folder of the submission, or the "
        "model file names no `inference_script`. Checked by `preflight`.",
        '{"model_file": "model/net.onnx"}      (there is only net.onnx)',
        '{"model_file": "net.onnx"}',
    ),
    Entry(
        "MC312", "Model size differs",
        "The size of the file named by `model_file` differs from `model_size_mb` by more than 1 %. 1 MB is 1,000,000 "
        "bytes. Checked by `preflight`.",
        '{"model_file": "net.onnx", "model_size_mb": 31.4}      (the file has 32,925,286 bytes)',
        '{"model_file": "net.onnx", "model_size_mb": 32.93}',
    ),
    Entry(
        "MC320", "Image missing",
        "The file named by `image_path` does not exist in the image folder, or cannot be read.",
        '{"image_id": "I-1", "image_path": "img/I-1.jpeg"}      (the file is img/I-1.jpg)',
        '{"image_id": "I-1", "image_path": "img/I-1.jpg"}',
    ),
    Entry(
        "MC321", "Not a JPEG or PNG",
        "The content of the file is neither JPEG nor PNG, whatever its name says.",
        "I-1.png, a WebP file that was renamed",
        "I-1.png, saved as PNG",
    ),
    Entry(
        "MC322", "Not 8-bit RGB",
        "Images must have three channels (red, green, blue) of 8 bits each, and no alpha channel. The pixel range "
        "[0, 512] given in the source document is impossible: 8-bit values end at 255.",
        "a PNG with transparency, a grayscale JPEG, a PNG with 16 bits per channel",
        'Image.open("I-1.png").convert("RGB").save("I-1.png")',
    ),
    Entry(
        "MC323", "Image too small",
        "The shorter side is less than 512 pixels.",
        "480 x 640 pixels",
        "600 x 800 pixels",
    ),
    Entry(
        "MC324", "Damaged image",
        "The image is truncated or cannot be decoded completely.",
        "a JPEG of which only half was copied",
        "the complete JPEG",
    ),
    Entry(
        "MC325", "Image too large",
        "The header declares more than 100 megapixels, so the image is not decoded; or the file is larger than 200 MB, "
        "so it is not read.",
        "20000 x 20000 pixels, or a PNG of 250 MB",
        "2000 x 2000 pixels, a file of a few MB",
    ),
)  # fmt: skip
