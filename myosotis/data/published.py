"""The data sets that others publish: what they consist of and where they are to be had.

Sizes and checksums are those of the unpacked content, so that a file counts as the publisher's
however it is compressed.
"""

from collections.abc import Mapping

from myosotis.data.source import Archive, Download, Source
from myosotis.data.task import DataFile

__all__ = ["CIFAR10", "FASHION", "IMDB", "MNIST", "SOURCES", "SST"]


def _idx_downloads(
    mirrors: tuple[str, ...], files: Mapping[str, tuple[int, str]]
) -> tuple[Download, ...]:
    """Offer every file on every mirror; `files` gives compressed bytes and MD5 of each."""
    return tuple(
        Download(name, size, md5, tuple(mirror + name for mirror in mirrors))
        for name, (size, md5) in files.items()
    )


MNIST = Source(
    name="mnist",
    publisher="Yann LeCun, Corinna Cortes and Christopher Burges, yann.lecun.com/exdb/mnist",
    license="CC BY-SA 3.0",
    folder="mnist",
    files=(
        DataFile(
            "train-images-idx3-ubyte",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        DataFile(
            "train-labels-idx1-ubyte",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        DataFile(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        DataFile(
            "t10k-labels-idx1-ubyte",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    downloads=_idx_downloads(
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
            "http://yann.lecun.com/exdb/mnist/",
        ),
        {
            "train-images-idx3-ubyte.gz": (9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            "train-labels-idx1-ubyte.gz": (28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
            "t10k-images-idx3-ubyte.gz": (1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
            "t10k-labels-idx1-ubyte.gz": (4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
        },
    ),
)

FASHION = Source(
    name="fashion-mnist",
    publisher="Zalando Research, github.com/zalandoresearch/fashion-mnist",
    license="MIT",
    folder="fashion-mnist",
    files=(
        DataFile(
            "train-images-idx3-ubyte",
            47_040_016,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        DataFile(
            "train-labels-idx1-ubyte",
            60_008,
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        DataFile(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        DataFile(
            "t10k-labels-idx1-ubyte",
            10_008,
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
    downloads=_idx_downloads(
        (
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        ),
        {
            "train-images-idx3-ubyte.gz": (26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            "train-labels-idx1-ubyte.gz": (29_515, "25c81989df183df01b3e8a0aad5dffbe"),
            "t10k-images-idx3-ubyte.gz": (4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
            "t10k-labels-idx1-ubyte.gz": (5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
        },
    ),
    elsewhere=("/usr/share/datasets/fashion-mnist",),  # Debian's dataset-fashion-mnist
)

CIFAR10 = Source(
    name="cifar10",
    publisher="Alex Krizhevsky, www.cs.toronto.edu/~kriz/cifar.html",
    license="none stated; cite Learning Multiple Layers of Features from Tiny Images (2009)",
    folder="cifar-10-batches-bin",
    files=tuple(
        DataFile(f"{name}.bin", 30_730_000, sha256)
        for name, sha256 in (
            ("data_batch_1", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
            ("data_batch_2", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
            ("data_batch_3", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
            ("data_batch_4", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
            ("data_batch_5", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
            ("test_batch", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
        )
    ),
    downloads=(
        Download(
            "cifar-10-binary.tar.gz",
            170_052_171,
            "c32a1d4ab5d03f1284b67883e8d87530",
            ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
            Archive(
                r"cifar-10-batches-bin/(data_batch_[1-5]|test_batch)\.bin",
                into=".",
                count=6,
                largest=30_730_000,
            ),
        ),
    ),
)

# The "files" of IMDB are folders: size and checksum are those of their reviews, in the order of
# their numbers, end to end.
IMDB = Source(
    name="imdb",
    publisher="Andrew Maas and others, ai.stanford.edu/~amaas/data/sentiment",
    license="none stated; cite Learning Word Vectors for Sentiment Analysis (ACL 2011)",
    folder="aclImdb",
    files=(
        DataFile(
            "train/neg",
            16_289_992,
            "b2441fdae57aa12b75bd0119ff26533937287387dfa348aae36031fde2555850",
        ),
        DataFile(
            "train/pos",
            16_842_831,
            "c0241833846db480684a3bbc739039a8a07829f00dee2c013e88100513dd0e90",
        ),
        DataFile(
            "test/neg",
            16_067_328,
            "96d3bcc33399f728795fb64d4aa8c58cf1ada467319838abba7d294451690141",
        ),
        DataFile(
            "test/pos",
            16_283_357,
            "4619fea0c15476ba5fe5d1ad7536ebe0b7e2d56b19500ff121fa29a00015b39f",
        ),
    ),
    downloads=(
        Download(
            "aclImdb_v1.tar.gz",
            84_125_825,
            "7c2ac02c03563afcf9b574c7e56c153a",
            ("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
            Archive(
                r"aclImdb/(train|test)/(pos|neg)/[0-9]{1,5}_[0-9]{1,2}\.txt",
                into=".",
                count=50_000,
                largest=2**16,
            ),
        ),
    ),
)

SST = Source(
    name="sst",
    publisher="Richard Socher and others, nlp.stanford.edu/sentiment",
    license="none stated; cite Recursive Deep Models for Semantic Compositionality (EMNLP 2013)",
    folder="sst",
    files=(
        DataFile(
            "trees/train.txt",
            2_160_058,
            "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7",
        ),
        DataFile(
            "trees/dev.txt",
            280_825,
            "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40",
        ),
        DataFile(
            "trees/test.txt",
            559_614,
            "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761",
        ),
    ),
    downloads=(
        Download(
            "trainDevTestTrees_PTB.zip",
            789_539,
            "5c3b23ce88089053fd3efeb4a34f614d",
            ("https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",),
            Archive(r"trees/(train|dev|test)\.txt", into="sst", count=3, largest=2_160_058),
        ),
    ),
)

SOURCES: Mapping[str, Source] = {
    source.name: source for source in (MNIST, FASHION, CIFAR10, IMDB, SST)
}
